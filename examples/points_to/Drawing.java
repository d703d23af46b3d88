interface Shape { Point centre(); }

class Circle implements Shape {
    Point middle;
    Point centre() { return this.middle; }
}

class Square implements Shape {
    Point corner;
    Point centre() { Point made = new Point(); return made; }      // Point@10
}

class Drawing {
    static void main() {
        Circle circle = new Circle();          // Circle@15
        Square square = new Square();          // Square@16
        Point  origin = new Point();           // Point@17
        Point  edge   = new Point();           // Point@18
        circle.middle = origin;
        square.corner = edge;

        Shape  shape  = circle;
        Point  first  = shape.centre();        // call 23
        Shape  other  = square;
        Point  second = other.centre();      // call 25

        Circle copy   = new Circle();          // Circle@27
        copy.middle   = circle.middle;
        Point  third  = copy.centre();         // call 29
    }
}
